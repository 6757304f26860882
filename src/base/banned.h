/* Functions that have hurt too many programs do not compile here. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol atoll gets tmpnam mktemp
