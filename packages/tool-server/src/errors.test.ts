import { expect, test } from "vitest";
import { redactFailure } from "./connection/connection-failures.js";
import { ToolServerError, withAdvice } from "./errors.js";

const parts = {
  subject: 'The server "files" cannot be used.',
  problem: "KEY is hunter2.",
  evidence: "PATH searched: /bin.",
  advice: "Set it.",
};

test("joins the parts of an error in order into its message, and omits empty ones", () => {
  const error = new ToolServerError("VARIABLE_UNUSABLE", parts);
  expect(error).toMatchObject(parts);
  expect(error.message).toBe('The server "files" cannot be used. KEY is hunter2. PATH searched: /bin. Set it.');
  const plain = new ToolServerError("CALL_TIMEOUT", { problem: "Nothing came.", advice: "" });
  expect(plain).toMatchObject({ message: "Nothing came.", subject: "", problem: "Nothing came.", advice: "" });
});

test("adds more advice before the advice, which may end with a command, and leaves the other parts unchanged", () => {
  const error = new ToolServerError("VARIABLE_UNUSABLE", parts);
  const more = new ToolServerError(error.code, withAdvice(error, "Try again."));
  expect(more).toMatchObject({ ...parts, advice: "Try again. Set it." });
});

test("redacts each part of an error", () => {
  const redacted = redactFailure(new ToolServerError("VARIABLE_UNUSABLE", parts), (text) =>
    text.replaceAll("hunter2", "[redacted]"),
  );
  expect(redacted).toMatchObject({ ...parts, problem: "KEY is [redacted]." });
  expect(redacted.message).not.toContain("hunter2");
});
