/* What Wine before version 10 lacks of bcryptprimitives.dll: the one function that Rust's standard library takes from there. */
#include <windows.h>
#include <ntsecapi.h>

BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) { return SystemFunction036(data, (ULONG)length); }
