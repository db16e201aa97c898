/* Says something on the console of another process, as a person at it would: console.exe c|break|close PID. Each such process of
   the tests has a console of its own. */
#define _WIN32_WINNT 0x0600
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const char *what) {
    fprintf(stderr, "%s: %lu\n", what, GetLastError());
    return 1;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    DWORD pid = strtoul(words[2], NULL, 10);
    /* Not this process: it attaches only to say it. */
    FreeConsole();
    if (!AttachConsole(pid)) return failed("AttachConsole");
    SetConsoleCtrlHandler(NULL, TRUE);
    if (!strcmp(words[1], "close")) {
        HWND window = GetConsoleWindow();
        if (!window) return failed("GetConsoleWindow");
        /* What the close button of a window does. */
        FreeConsole();
        if (!PostMessageW(window, WM_CLOSE, 0, 0)) return failed("PostMessage");
        return 0;
    }
    DWORD event = !strcmp(words[1], "c") ? CTRL_C_EVENT : CTRL_BREAK_EVENT;
    if (!GenerateConsoleCtrlEvent(event, 0)) return failed("GenerateConsoleCtrlEvent");
    /* Until it has been said. */
    Sleep(100);
    return 0;
}
