/* Lets nobody open the keys of the registry in which Wine keeps credentials, or everybody again: locked_key.exe lock|unlock. With
   them locked it is as in a session that has no store of credentials, such as a service's. */
#include <windows.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    HKEY key;
    if (RegCreateKeyExA(HKEY_CURRENT_USER, "Software\\Wine\\Credential Manager", 0, NULL, 0, WRITE_DAC, NULL, &key, NULL)) {
        fprintf(stderr, "the key does not open\n");
        return 1;
    }
    SECURITY_DESCRIPTOR rights;
    ACL nobody;
    InitializeSecurityDescriptor(&rights, SECURITY_DESCRIPTOR_REVISION);
    InitializeAcl(&nobody, sizeof nobody, ACL_REVISION);
    SetSecurityDescriptorDacl(&rights, TRUE, strcmp(words[1], "lock") ? NULL : &nobody, FALSE);
    if (RegSetKeySecurity(key, DACL_SECURITY_INFORMATION, &rights)) {
        fprintf(stderr, "its rights were not changed\n");
        return 1;
    }
    return 0;
}
