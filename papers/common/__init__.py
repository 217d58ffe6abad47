"""What all papers share: judging, tables, drawing, the page, and the command."""
