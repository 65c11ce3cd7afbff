import { expect, test } from "vitest";
import { capturedCallOf, commandOf, isRedacted } from "./call-command.js";

const call = { method: "tools/call", server: "notes", name: "write" };

test("creates a command whose arguments a shell passes unchanged", () => {
  const request = JSON.stringify({ name: "notes__write", arguments: { text: "it's $HOME `x`\n" } });
  const captured = capturedCallOf(call, { request, requestTruncated: false });
  expect(captured && commandOf(captured)).toBe(`wirescope call notes write '{"text":"it'\\''s $HOME \`x\`\\n"}'`);
  expect(captured && isRedacted(captured)).toBe(false);
});

test("quotes names that a shell would interpret", () => {
  const named = { server: "a;reboot", tool: "x y", arguments: "{}" };
  expect(commandOf(named)).toBe("wirescope call 'a;reboot' 'x y'");
});

test("escapes characters that hide or reorder others, without changing the value", () => {
  const text = "a\u202eb\u0007\u{e0041}";
  const captured = capturedCallOf(call, { request: JSON.stringify({ arguments: { text } }), requestTruncated: false });
  expect(captured?.arguments).toBe('{"text":"a\\u202eb\\u0007\\udb40\\udc41"}');
  expect(JSON.parse(captured?.arguments ?? "")).toEqual({ text });
  const body = { request: "{}", requestTruncated: false };
  expect(capturedCallOf({ ...call, name: "a\u202eb" }, body)).toBeUndefined();
});

test("offers no command for a request that was not captured completely, or is not a tool call", () => {
  const body = { request: '{"arguments":{"key":"[redacted]"}}', requestTruncated: false };
  expect(capturedCallOf(call, body)).toMatchObject({ arguments: '{"key":"[redacted]"}' });
  expect(isRedacted(capturedCallOf(call, body)!)).toBe(true);
  expect(capturedCallOf(call, { ...body, requestTruncated: true })).toBeUndefined();
  expect(capturedCallOf(call, undefined)).toBeUndefined();
  expect(capturedCallOf({ ...call, method: "prompts/get" }, body)).toBeUndefined();
  expect(capturedCallOf({ ...call, name: "--config=evil.json" }, body)).toBeUndefined();
  expect(capturedCallOf(call, { ...body, request: "{" })).toBeUndefined();
});
