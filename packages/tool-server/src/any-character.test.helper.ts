import fc from "fast-check";

/** Any character, as the unit of strings. The unit "binary" of fast-check takes a second and 100 MB of each process. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.nat(0x7f), fc.nat(0xd7ff), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));
