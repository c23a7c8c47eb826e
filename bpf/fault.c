// SPDX-License-Identifier: MIT
/* Why it did not work. */
#include "bpf/fault.h"

#include <stdarg.h>
#include <stdio.h>

int fault_set(struct fault *fault, enum exit_status status, const char *format,
	      ...)
{
	va_list args;

	fault->status = status;
	va_start(args, format);
	vsnprintf(fault->text, sizeof(fault->text), format, args);
	va_end(args);
	return -1;
}
