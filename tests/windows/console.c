/* Types Ctrl-C on the console of another process, as a person at it would: console.exe PID. Each such process of the tests has a
   console of its own. Wine 8 passes on neither Ctrl-Break nor the end of a console: whoever is asked for those is killed. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %lu\n", what, GetLastError());
    return 1;
}

int main(int count, char **words) {
    if (count != 2) return 2;
    FreeConsole();
    if (!AttachConsole(strtoul(words[1], NULL, 10))) return failed("AttachConsole");
    /* Not this process. */
    SetConsoleCtrlHandler(NULL, TRUE);
    if (!GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0)) return failed("GenerateConsoleCtrlEvent");
    /* Until it has been said. */
    Sleep(100);
    return 0;
}
