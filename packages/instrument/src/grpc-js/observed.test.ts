import { createRegistry } from "@wirescope/channelz";
import { findFailure } from "@wirescope/channelz/client";
import { expect, test } from "vitest";
import { adoptState } from "./observed.js";

test("shows no reason for a failure from before the observation, because it is unknown", async () => {
  const registry = createRegistry();
  const handle = registry.addChannel({ target: "dns:///orders.example" });
  adoptState(handle, "TRANSIENT_FAILURE");
  const { channel } = await registry.getChannel(handle.id);
  expect(handle.state).toBe("TRANSIENT_FAILURE");
  expect(findFailure([channel!])).toMatchObject({ reason: undefined, since: expect.any(Date) });
});
