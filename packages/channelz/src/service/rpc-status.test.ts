import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ChannelzError } from "../errors.js";
import { connectErrorOf, rpcStatusOf } from "./rpc-status.js";

test.each([
  ["NOT_FOUND", Code.NotFound],
  ["INVALID_ARGUMENT", Code.InvalidArgument],
  ["PEER_UNAVAILABLE", Code.Unavailable],
  ["PEER_WITHOUT_CHANNELZ", Code.Unimplemented],
  ["PEER_REFUSED", Code.PermissionDenied],
  ["PEER_TIMEOUT", Code.DeadlineExceeded],
  ["PEER_FAILED", Code.Unknown],
] as const)("maps %s to status %i and keeps the message", (code, status) => {
  expect(rpcStatusOf(new ChannelzError(code, "said plainly"))).toEqual({ code: status, message: "said plainly" });
});

test.each([new ChannelzError("TOKEN_UNUSABLE", "secret path"), new TypeError("secret path"), "secret path", undefined])(
  "returns INTERNAL without details for an error that is not for callers: %s",
  (error) => {
    const status = rpcStatusOf(error);
    expect(status.code).toBe(Code.Internal);
    expect(status.message).not.toContain("secret");
    expect(connectErrorOf(error).rawMessage).toBe(status.message);
  },
);

test("keeps a status that the source chose", () => {
  const error = new ConnectError("later", Code.Unavailable);
  expect(rpcStatusOf(error)).toEqual({ code: Code.Unavailable, message: "later" });
  expect(connectErrorOf(error)).toBe(error);
});
