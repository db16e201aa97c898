/* What opens web addresses where these tests run. It writes its own command line, and that of the process that started it as far as
   it was given one, to the file that PDPP_TEST_BROWSER names, if it names one, and opens nothing. */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    const char *path = getenv("PDPP_TEST_BROWSER");
    if (!path) return 0;
    FILE *file = fopen(path, "wb");
    if (!file) return 1;
    char line[32768];
    WideCharToMultiByte(CP_UTF8, 0, GetCommandLineW(), -1, line, sizeof line, NULL, NULL);
    fputs(line, file);
    return fclose(file);
}
