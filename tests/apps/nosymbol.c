/* nosymbol.c: a shared object that is no application; the server must refuse to start with it. */
int nosymbol_answer(void);
int nosymbol_answer(void)
{
    return 42;
}
