import { expect, test } from "vitest";
import { isPlaceholder } from "./placeholder.js";

test.each([
  "<token>",
  "[your key]",
  "your-api-key",
  "YOUR_TOKEN_HERE",
  "my-secret-token",
  "insert key here",
  "change-me",
  "replace_this_value",
  "xxxx",
  "...",
  "****",
  "TODO",
  "api_key",
  "undefined",
])("%s is a placeholder", (value) => {
  expect(isPlaceholder(value)).toBe(true);
});

test.each(["", "sk-live-123456", "yourself", "my-service", "tokenless", "a...b", "nullable", "xx"])(
  "%j is none",
  (value) => {
    expect(isPlaceholder(value)).toBe(false);
  },
);
