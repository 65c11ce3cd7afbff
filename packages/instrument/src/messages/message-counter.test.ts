import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bodyShapeOf } from "./body-shape.js";
import { isOk } from "./call-outcome.js";
import { MessageCounter } from "./message-counter.js";

function envelope(flags: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5);
  head[0] = flags;
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

/** The same bytes, cut at the given places. */
function* chunksOf(bytes: Uint8Array, cuts: readonly number[]): Iterable<Uint8Array> {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const place of [...places, bytes.length]) {
    yield bytes.subarray(from, place);
    from = place;
  }
}

describe("MessageCounter", () => {
  test("[CZ-SOCKET-8] [CZ-D-MSG-1] counts messages, however the bytes are split", () => {
    const payload = fc.uint8Array({ maxLength: 40 });
    fc.assert(
      fc.property(fc.array(payload, { maxLength: 20 }), fc.array(fc.nat(), { maxLength: 30 }), (messages, cuts) => {
        for (const [shape, flag] of [
          ["grpc", 0],
          ["grpc-web", 0x80],
          ["connect-stream", 0x02],
        ] as const) {
          const envelopes = messages.map((message) => envelope(0, message));
          if (flag !== 0) envelopes.push(envelope(flag, Buffer.from("the status")));
          const counter = new MessageCounter();
          counter.begin(shape);
          let counted = 0;
          for (const chunk of chunksOf(Buffer.concat(envelopes), cuts)) counted += counter.add(chunk);
          expect(counted + counter.end()).toBe(messages.length);
          expect(counter.status).toBe(flag === 0 ? undefined : "the status");
        }
      }),
    );
  });

  test("[CZ-SOCKET-8] [CZ-D-MSG-1] counts a body without envelopes as one message when it ends, and an empty body as none", () => {
    const counter = new MessageCounter();
    counter.begin("whole");
    expect([counter.add(Buffer.from("{")), counter.add(Buffer.from("}")), counter.end()]).toEqual([0, 0, 1]);
    counter.begin("whole");
    expect(counter.end()).toBe(0);
    counter.begin("unary");
    expect(counter.end()).toBe(1);
  });

  test("does not buffer a status above the size limit", () => {
    const counter = new MessageCounter();
    counter.begin("connect-stream");
    counter.add(envelope(0x02, Buffer.alloc(100_000, 0x20)));
    expect(counter.status).toBeUndefined();
  });
});

test("chooses the framing of messages in a body by the content type", () => {
  expect(
    [
      "application/grpc",
      "application/grpc+proto",
      "application/grpc-web+proto",
      "application/grpc-web-text",
      "application/connect+json",
      "application/proto",
      "application/json",
      "text/html",
      undefined,
    ].map(bodyShapeOf),
  ).toEqual(["grpc", "grpc", "grpc-web", "whole", "connect-stream", "unary", "whole", "whole", "whole"]);
});

test("[CZ-DATA-4] [CZ-DATA-5] reads the outcome of a call as each protocol reports it", () => {
  const end = { httpStatus: 200, grpcStatus: undefined, envelopeStatus: undefined };
  expect(isOk({ ...end, shape: "grpc", grpcStatus: "0" })).toBe(true);
  expect(isOk({ ...end, shape: "grpc", grpcStatus: "5" })).toBe(false);
  expect(isOk({ ...end, shape: "grpc" })).toBe(false);
  expect(isOk({ ...end, shape: "grpc-web", envelopeStatus: "grpc-status: 0\r\ngrpc-message: fine\r\n" })).toBe(true);
  expect(isOk({ ...end, shape: "grpc-web", envelopeStatus: "grpc-message: no\r\ngrpc-status: 3\r\n" })).toBe(false);
  expect(isOk({ ...end, shape: "grpc-web", grpcStatus: "0" })).toBe(true);
  expect(isOk({ ...end, shape: "connect-stream", envelopeStatus: "{}" })).toBe(true);
  expect(isOk({ ...end, shape: "connect-stream", envelopeStatus: '{"error":{"code":"not_found"}}' })).toBe(false);
  expect(isOk({ ...end, shape: "connect-stream", envelopeStatus: "no json" })).toBe(false);
  expect(isOk({ ...end, shape: "connect-stream" })).toBe(false);
  expect(isOk({ ...end, shape: "whole" })).toBe(true);
  expect(isOk({ ...end, shape: "whole", httpStatus: 404 })).toBe(false);
  expect(isOk({ ...end, shape: "whole", httpStatus: undefined })).toBe(false);
});
