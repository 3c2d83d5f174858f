// SPDX-License-Identifier: Apache-2.0
// Units with different flags in one program: UNITS lists what they define, as X(name) X(name) ...
#include "products.hpp"

#define X(name) result name();
UNITS
#undef X

int main() {
  const result expected = scalar_products();
  int failures = 0;
#define X(name) failures += differs(expected, name());
  UNITS
#undef X
  return failures;
}
