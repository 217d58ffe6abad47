"""Chang, Hwang: An Ordered and Reliable Broadcast Protocol for Distributed Systems."""
