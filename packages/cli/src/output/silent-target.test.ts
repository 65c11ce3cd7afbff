import { ChannelzError } from "@wirescope/channelz";
import { expect, test } from "vitest";
import { reasonWithout, silentTarget } from "./silent-target.js";

const error = "127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1.";

test.each([
  ["", "127.0.0.1:1", error],
  ["127.0.0.1:1", "127.0.0.1:1", error],
  ["orders", "127.0.0.1:1", `orders: ${error}`],
  ["", "", error],
])("names a target that does not respond once: name %j, address %j", (name, target, expected) => {
  expect(silentTarget({ name, target, error, errorSubject: "127.0.0.1:1" })).toBe(expected);
});

test("names a target whose reason does not", () => {
  expect(silentTarget({ name: "", target: "127.0.0.1:1", error: "The read timed out." })).toBe(
    "127.0.0.1:1: The read timed out.",
  );
});

test("shows a reason without the name that the line already has, and any other completely", () => {
  const parts = { subject: "127.0.0.1:1", problem: "cannot be reached.", advice: "Start it." };
  const named = new ChannelzError("PEER_UNAVAILABLE", parts);
  expect(reasonWithout("127.0.0.1:1", named)).toBe("cannot be reached. Start it.");
  expect(reasonWithout("orders", named)).toBe("127.0.0.1:1 cannot be reached. Start it.");
  const whole = new ChannelzError("PEER_UNAVAILABLE", "127.0.0.1:1 is odd.");
  expect(reasonWithout("127.0.0.1:1", whole)).toBe("127.0.0.1:1 is odd.");
});
