import { expect, test } from "vitest";
import { secretsOfHeader } from "./header-fields.js";

const basic = Buffer.from("user:pass:word").toString("base64");

test.each([
  ["Authorization", "Bearer abc.def", ["abc.def"]],
  ["proxy-authorization", "bearer abc.def", ["abc.def"]],
  ["Authorization", `Basic ${basic}`, [basic, "pass:word"]],
  ["Authorization", "Basic not-base64", ["not-base64"]],
  ["Authorization", "abc.def", ["abc.def"]],
  ["Authorization", "Custom abc def", ["Custom abc def", "abc def"]],
  ["Authorization", "Custom  abc", ["Custom  abc", "abc"]],
  ["X-Id-Token", "abc", ["abc"]],
  ["X-User-Secret", "abc", ["abc"]],
  ["X-Api-Key", "abc", ["abc"]],
  ["Cookie", "session=abc", ["session=abc"]],
  ["X-Anything", "abc", ["abc"]],
  ["X-Session-Id", "abc", ["abc"]],
  ["X-SessionID", "abc", ["abc"]],
  ["X-Session", "12345678", ["12345678"]],
  ["X-Session-User", "abc", ["abc"]],
  ["X-Team-Session-Id", "abc", ["abc"]],
  ["X-Account-Token", "abc", ["abc"]],
])("[TS-D-SEC-2] treats the header %s with the value %s as a secret", (name, value, expected) => {
  expect(secretsOfHeader(name, value)).toEqual(expected);
});

test.each([
  ["X-Tenant", "acme"],
  ["X-Workspace-Id", "acme"],
  ["X-Request-ID", "abc"],
  ["X-Client-Id", "abc"],
  ["X-Account-Id", "abc"],
  ["X-Session-Timeout", "300"],
  ["User-Agent", "wirescope"],
  ["Date", "abc"],
  ["X-Api-Version", "2026-01-01"],
  ["X-Signed-At", "1700000000000"],
])("shows the header %s with the value %s", (name, value) => {
  expect(secretsOfHeader(name, value)).toEqual([]);
});

test.each([
  ["X-Api-Key", "123456789012"],
  ["X-Auth-Token", "987654"],
  ["X-Nonce", "17000000000001"],
])(
  "[TS-D-SEC-2] treats digits as a secret in a credential header, and if there are too many for a time: %s: %s",
  (name, value) => {
    expect(secretsOfHeader(name, value)).toEqual([value]);
  },
);
