// SPDX-License-Identifier: Apache-2.0
// Macros that users' own headers define: windows.h, X11, math.h of old, curses.
#ifndef MXREF_TESTS_COMPILE_USER_MACROS_HPP_
#define MXREF_TESTS_COMPILE_USER_MACROS_HPP_

#define near
#define far
#define small char
#define hyper long
#define interface struct
#define IN
#define OUT
#define CONST const
#define ERROR 0
#define OK 0
#define DOMAIN 1
#define OVERFLOW 3
#define UNDERFLOW 4
#define Bool int
#define Status int
#define Success 0
#define None 0L
#define True 1
#define False 0
#define Always 2
#define abs(x) ((x) < 0 ? -(x) : (x))
#define round(x) ((int)((x) + 0.5))
#define major(x) ((x) >> 8)
#define minor(x) ((x)&255)

#endif  // MXREF_TESTS_COMPILE_USER_MACROS_HPP_
