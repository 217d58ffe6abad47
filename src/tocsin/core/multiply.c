/* Multiplication of Python integers for the compiled unit, which calls it instead of PyNumber_Multiply (setup.py).

Python's long multiplication looks for signals inside. mypyc takes whatever comes out of one, a Ctrl-C among it, for a
lack of memory and ends the process. Here the product is made all the same, and what the signal's handler has raised is
raised again by the next instruction that is interpreted. */

#undef PyNumber_Multiply
#include <Python.h>

PyObject *tocsin_multiply(PyObject *left, PyObject *right) {
    PyObject *product = PyNumber_Multiply(left, right);
    while (product == NULL && PyLong_CheckExact(left) && PyLong_CheckExact(right) &&
           !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyObject *kind, *value, *traceback;
        PyErr_Fetch(&kind, &value, &traceback);
        product = PyNumber_Multiply(left, right);
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), kind);
        Py_XDECREF(kind);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    return product;
}
