import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { readGrpcResponse } from "./grpc-response.js";

const body = Buffer.from([0, 0, 0, 0, 2, 7, 8]);
const ok = { ":status": 200, "content-type": "application/grpc+proto" };

describe("readGrpcResponse", () => {
  test("returns the message of a response with status OK", () => {
    const { message } = readGrpcResponse({ headers: ok, trailers: { "grpc-status": "0" }, body });
    expect([...message]).toEqual([7, 8]);
  });

  test.each([
    [
      "a status in the trailers",
      { trailers: { "grpc-status": "5", "grpc-message": "no%20%22x%22" } },
      Code.NotFound,
      'no "x"',
    ],
    ["a status alone, in the headers", { headers: { ...ok, "grpc-status": "16" } }, Code.Unauthenticated, ""],
    [
      "a message that is not percent-encoded",
      { trailers: { "grpc-status": "13", "grpc-message": "100%" } },
      Code.Internal,
      "100%",
    ],
    ["a status that does not exist", { trailers: { "grpc-status": "99" } }, Code.Unknown, ""],
    ["a status that is no number", { trailers: { "grpc-status": "x" } }, Code.Unknown, ""],
    ["no status", {}, Code.Internal, "without a status"],
    ["a page", { headers: { ":status": 200, "content-type": "text/html" } }, Code.Unknown, "unsupported content type"],
    ["HTTP 404", { headers: { ":status": 404 } }, Code.Unimplemented, "HTTP 404"],
    ["HTTP 401", { headers: { ":status": 401 } }, Code.Unauthenticated, "HTTP 401"],
    ["HTTP 403", { headers: { ":status": 403 } }, Code.PermissionDenied, "HTTP 403"],
    ["HTTP 503", { headers: { ":status": 503 } }, Code.Unavailable, "HTTP 503"],
    ["HTTP 418", { headers: { ":status": 418 } }, Code.Unknown, "HTTP 418"],
    ["OK without a message", { trailers: { "grpc-status": "0" }, body: Buffer.alloc(0) }, Code.Internal, "no message"],
    [
      "half a message",
      { trailers: { "grpc-status": "0" }, body: body.subarray(0, 6) },
      Code.Internal,
      "complete message",
    ],
    [
      "two messages",
      { trailers: { "grpc-status": "0" }, body: Buffer.concat([body, body]) },
      Code.Internal,
      "complete message",
    ],
    [
      "a compressed message",
      { trailers: { "grpc-status": "0" }, body: Buffer.from([1, 0, 0, 0, 0]) },
      Code.Internal,
      "compressed",
    ],
  ])("throws the right code for %s", (_, part, code, words) => {
    expect(() => readGrpcResponse({ headers: ok, trailers: {}, body, ...part })).toThrow(
      expect.objectContaining({ code, rawMessage: expect.stringContaining(words) }),
    );
  });
});
