/* SPDX-License-Identifier: MIT */
/*
 * Failures with a message.
 *
 * A function of the user's returns a plain errno, or what hyphae_error()
 * returned: a *ticket*, a negative number below all errnos, made of the code
 * and of the number of the call.  The message waits in the thread until the
 * ticket comes back.  A ticket that is not returned does no harm: its number
 * fits no later one, and the next message takes its place.
 */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/utf8.h"
#include "core/value.h"

#define CODE_BITS 12 /* HYPHAE_ERRNO_MAX fits */
#define NUMBER_MAX (INT32_MAX >> CODE_BITS)

static __thread struct {
	uint32_t number; /* of the call; 0: none so far */
	char message[HYPHAE_MESSAGE_MAX + 1];
} last __attribute__((tls_model("initial-exec")));

/* Where a text may be cut so that no character is cut in two. */
static void cut(char *text, size_t length)
{
	for (size_t less = 0; less < 4 && less < length; less++) {
		if (hy_utf8_valid(text, length - less)) {
			text[length - less] = '\0';
			return;
		}
	}
}

int hyphae_error(int code, const char *format, ...)
{
	va_list args;
	int length;

	if (code >= 0 || code < -HYPHAE_ERRNO_MAX)
		code = -EINVAL;
	last.message[0] = '\0';
	if (format) {
		va_start(args, format);
		length = vsnprintf(last.message, sizeof(last.message), format,
				   args);
		va_end(args);
		if (length > HYPHAE_MESSAGE_MAX)
			cut(last.message, HYPHAE_MESSAGE_MAX);
	}
	last.number = last.number % NUMBER_MAX + 1;
	return -(int)(last.number << CODE_BITS | (uint32_t)-code);
}

int hy_failure_code(int result)
{
	int code;

	if (result >= -HYPHAE_ERRNO_MAX)
		return result;
	code = -(int)(-(uint32_t)result & HYPHAE_ERRNO_MAX);
	return code ? code : -EINVAL;
}

int hy_failure(int result, const char **ret_message)
{
	bool ticket = result < -HYPHAE_ERRNO_MAX;

	*ret_message = "";
	if (ticket && -(uint32_t)result >> CODE_BITS == last.number)
		*ret_message = last.message;
	return hy_failure_code(result);
}

int hy_failure_text(char *text, size_t size, const char *who, int result,
		    const char *rest)
{
	const char *message;
	int code = hy_failure(result, &message);

	snprintf(text, size, "%s returned error %d (%s)%s%s%s", who, code,
		 strerror(-code), *message ? ": " : "", message, rest);
	return code;
}
