import { expect, test } from "vitest";
import { reachableAddress } from "./listen-options.js";

test.each([
  ["http://127.0.0.1:4690", "tools.example", "http://127.0.0.1:4690"],
  ["https://0.0.0.0:4690", undefined, "https://127.0.0.1:4690"],
  ["https://0.0.0.0:4690", "tools.example", "https://tools.example:4690"],
  ["https://[::]:4690", undefined, "https://[::1]:4690"],
  ["[::]:4690", "tools.example", "tools.example:4690"],
  ["0.0.0.0:4690", undefined, "127.0.0.1:4690"],
  ["10.0.0.0:4690", undefined, "10.0.0.0:4690"],
  ["[fe80::]:4690", undefined, "[fe80::]:4690"],
  ["unix:/run/0.0.0.0:1", undefined, "unix:/run/0.0.0.0:1"],
])("reports a URL that clients can reach if it listens on %s with the host name %s: %s", (text, name, expected) => {
  expect(reachableAddress(text, name)).toBe(expected);
});
