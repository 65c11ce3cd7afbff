import { expect, test } from "vitest";
import { isAddressOf } from "./connect-by-options.js";

test.each([
  ["127.0.0.1:4690", "127.0.0.1:4690"],
  ["127.0.0.1:4690", ":4690"],
  ["127.0.0.1:4690", "4690"],
  ["127.0.0.1:4690", "localhost:4690"],
  ["127.0.0.1:4690", "http://127.0.0.1:4690"],
  ["[::1]:4690", "[::1]:4690"],
  ["https://localhost:4690", "localhost:4690"],
  ["https://127.0.0.1:4690", "https://127.0.0.1:4690"],
  ["unix:/run/a.sock", "unix:/run/a.sock"],
])("recognizes the gateway at %s by the target %s", (gateway, named) => {
  expect(isAddressOf(gateway, named)).toBe(true);
});

test.each([
  ["127.0.0.1:4690", "127.0.0.1:4691"],
  ["127.0.0.1:4690", "127.0.0.2:4690"],
  ["127.0.0.1:4690", "[::1]:4690"],
  ["127.0.0.1:4690", "example.com:4690"],
  ["127.0.0.1:4690", "https://127.0.0.1:4690"],
  ["https://127.0.0.1:4690", "http://127.0.0.1:4690"],
  ["127.0.0.1:4690", "http://127.0.0.1:4690/other"],
  ["192.0.2.1:4690", "192.0.2.1:4690"],
  ["https://gateway.example:4690", "https://gateway.example:4690"],
  ["unix:/run/a.sock", "unix:/run/b.sock"],
  ["127.0.0.1:4690", "unix:/run/a.sock"],
])("does not recognize the gateway at %s by the target %s, and sends no token there", (gateway, named) => {
  expect(isAddressOf(gateway, named)).toBe(false);
});
