#pragma once
/* As much of nginx' configuration as its tree and its queue need. */
#include <stddef.h>
#include <stdint.h>
typedef intptr_t ngx_int_t;
typedef uintptr_t ngx_uint_t;
typedef unsigned char u_char;
#define ngx_inline inline
