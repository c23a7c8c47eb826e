/* SPDX-License-Identifier: MIT */
#ifndef HYPHAE_EXPORT_H
#define HYPHAE_EXPORT_H

#define HYPHAE_API __attribute__((visibility("default")))
#define HYPHAE_UNUSED __attribute__((unused))

#ifdef __cplusplus
#define HYPHAE_ALIGNOF(type) alignof(type)
#define HYPHAE_CAST_(type, value) (static_cast<type>(value))
#define HYPHAE_DESIGNATED_ __extension__ /* initializers, before C++20 */
#else
#define HYPHAE_ALIGNOF(type) _Alignof(type)
#define HYPHAE_CAST_(type, value) ((type)(value))
#define HYPHAE_DESIGNATED_
#endif

/* The place in the source as "file:line": what constructors take as `site`. */
#define HYPHAE_STRING_(x) #x
#define HYPHAE_STRING(x) HYPHAE_STRING_(x)
#define HYPHAE_HERE __FILE__ ":" HYPHAE_STRING(__LINE__)

#endif
