import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { peerError } from "./peer-error.js";

const call = { method: "rpc.channelz.v1.Channelz/GetSocket", subject: "socket 12", peer: "127.0.0.1:4690" };

describe("peerError", () => {
  test.each([
    [Code.NotFound, "NOT_FOUND"],
    [Code.InvalidArgument, "INVALID_ARGUMENT"],
    [Code.OutOfRange, "INVALID_ARGUMENT"],
    [Code.Unimplemented, "PEER_WITHOUT_CHANNELZ"],
    [Code.Unauthenticated, "PEER_REFUSED"],
    [Code.PermissionDenied, "PEER_REFUSED"],
    [Code.DeadlineExceeded, "PEER_TIMEOUT"],
    [Code.Unavailable, "PEER_UNAVAILABLE"],
    [Code.Aborted, "PEER_UNAVAILABLE"],
    [Code.Canceled, "PEER_UNAVAILABLE"],
    [Code.Internal, "PEER_FAILED"],
    [Code.Unknown, "PEER_FAILED"],
    [Code.ResourceExhausted, "PEER_FAILED"],
    [Code.DataLoss, "PEER_FAILED"],
    [Code.AlreadyExists, "PEER_FAILED"],
    [Code.FailedPrecondition, "PEER_FAILED"],
    [99 as Code, "PEER_FAILED"],
  ] as const)("maps the gRPC code %i to %s and keeps the cause", (code, expected) => {
    const reason = new ConnectError("words", code);
    const error = peerError(reason, call);
    expect(error).toMatchObject({ name: "ChannelzError", code: expected, cause: reason });
    expect(error.message).toContain("127.0.0.1:4690");
  });

  test("says which object is missing", () => {
    expect(peerError(new ConnectError("", Code.NotFound), call).message).toBe("127.0.0.1:4690 has no socket 12.");
    expect(peerError(new ConnectError("", Code.Unimplemented), call)).toMatchObject({
      subject: "127.0.0.1:4690",
      problem: expect.stringMatching(/^does not serve /),
      advice: expect.stringMatching(/^Check the port, .* docs\/switch-on\.md says how to switch it on\.$/),
    });
  });

  test.each([
    [Code.InvalidArgument, "does not accept the request rpc.channelz.v1.Channelz/GetSocket"],
    [Code.Unauthenticated, "Pass the bearer token or client certificate that it expects."],
    [Code.PermissionDenied, "Ask its operator for access."],
    [Code.Unimplemented, "does not serve rpc.channelz.v1.Channelz/GetSocket"],
    [Code.DeadlineExceeded, "did not respond to rpc.channelz.v1.Channelz/GetSocket in time. Increase the timeout"],
    [Code.Internal, "failed at rpc.channelz.v1.Channelz/GetSocket (Internal)"],
    [99 as Code, "failed at rpc.channelz.v1.Channelz/GetSocket (99)"],
  ])("says what failed and what to do for the gRPC code %i", (code, expected) => {
    expect(peerError(new ConnectError("", code), call).message).toContain(expected);
  });

  test("says how long the call waited", () => {
    const { message } = peerError(new ConnectError("", Code.DeadlineExceeded), { ...call, timeoutMs: 250 });
    expect(message).toContain("within 250 ms");
  });

  test("gives the reasons for all addresses that were tried, and the readable part of a failed handshake", () => {
    const codes = (message: string): Error => Object.assign(new Error(message), { code: "ECONNREFUSED" });
    const tried = Object.assign(new AggregateError([codes("connect ::1"), codes("connect 127.0.0.1")]), { code: "E" });
    expect(peerError(tried, call).message).toContain("cannot be reached: connect ::1; connect 127.0.0.1. Check");
    const tls = Object.assign(new Error("80:error:0A:ssl/record/rec_layer_s3.c:1590:"), {
      code: "ERR_SSL",
      library: "SSL routines",
      reason: "certificate required",
    });
    expect(peerError(tls, call).message).toContain("cannot be reached: certificate required. Check");
  });

  test("escapes and truncates the message of the peer", () => {
    const { message } = peerError(new ConnectError(`\u001b]0;owned\u0007${"x".repeat(10_000)}`, Code.Internal), call);
    expect(message).toContain("\\x1b]0;owned\\x07xxx");
    expect(message.length).toBeLessThan(700);
  });

  test("reports a system error below the call as an unreachable peer, with the reason", () => {
    const root = Object.assign(new Error("connect ENOENT /run/none.sock"), { code: "ENOENT" });
    const error = peerError(new ConnectError("wrapped", Code.Internal, undefined, undefined, root), {
      ...call,
      adviseOnConnection: (cause) => (cause === root ? "Check the path." : undefined),
    });
    expect(error.code).toBe("PEER_UNAVAILABLE");
    expect(error.message).toBe("127.0.0.1:4690 cannot be reached: connect ENOENT /run/none.sock. Check the path.");
  });

  test("reports a rejected fetch as an unreachable peer", () => {
    const reason = ConnectError.from(new TypeError("Failed to fetch"));
    expect(peerError(reason, call)).toMatchObject({ code: "PEER_UNAVAILABLE" });
  });

  test("reports a call that the caller cancelled as cancelled, whatever the transport said", () => {
    const error = peerError(new ConnectError("reset", Code.Internal), { ...call, abandoned: true });
    expect(error).toMatchObject({ code: "PEER_TIMEOUT" });
    expect(error.message).toBe(`The caller aborted ${call.method} before 127.0.0.1:4690 responded.`);
    const unnamed = peerError(new Error("reset"), { method: "m", abandoned: true });
    expect(unnamed.message).toBe("The caller aborted m before the peer responded.");
  });

  test("returns a ChannelzError unchanged, even if it is the cause of another error", () => {
    const inner = new ChannelzError("PEER_UNAVAILABLE", "The connection is closed.");
    expect(peerError(inner, call)).toBe(inner);
    expect(peerError(ConnectError.from(inner), call)).toBe(inner);
  });

  test.each([
    undefined,
    null,
    7,
    "text",
    {},
    Object.create(null),
    new AggregateError([new Error("a"), new Error("b")]),
  ])("converts anything to a ChannelzError: %s", (reason) => {
    expect(ChannelzError.is(peerError(reason, { method: "m" }))).toBe(true);
  });

  test("believes the status of a peer whatever its cause is, unless the status says nothing", () => {
    const reset = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
    const failed = (code: Code, cause: unknown) => new ConnectError("words", code, undefined, undefined, cause);
    expect(peerError(failed(Code.Internal, reset), call).code).toBe("PEER_UNAVAILABLE");
    expect(peerError(failed(Code.Unauthenticated, reset), call).code).toBe("PEER_REFUSED");
    expect(peerError(failed(Code.Internal, { code: "not an error" }), call).code).toBe("PEER_FAILED");
  });

  test("says why in the words of the innermost error, without the prefix that Connect puts before them", () => {
    const whyOf = (reason: unknown): string | undefined =>
      /(?:reached: |says: ")(.*?)"?\.(?: Check|$)/.exec(peerError(reason, call).message)?.[1];
    expect(whyOf(new ConnectError("no route", Code.Unavailable))).toBe("no route");
    const tried = new AggregateError([new Error("a"), new Error("b")], "no proxy works");
    expect(whyOf(Object.assign(tried, { code: "E" }))).toBe("no proxy works");
    expect(whyOf("a string")).toBe("a string");
    expect(whyOf(undefined)).toBeUndefined();
    expect(whyOf({})).toBeUndefined();
  });

  test("handles causes that refer to each other", () => {
    const a = new Error("a");
    const b = new Error("b", { cause: a });
    a.cause = b;
    expect(peerError(a, call)).toMatchObject({ code: "PEER_FAILED" });
  });
});
