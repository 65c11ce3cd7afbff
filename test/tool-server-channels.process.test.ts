import { createRegistry } from "@wirescope/channelz";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { channels } from "@wirescope/tool-server";
import { expect, test } from "vitest";

const watched = (): string[] =>
  Object.keys(channels).filter((name) => channels[name as keyof typeof channels].hasSubscribers);

// They measure durations; tracers and the call log subscribe to them.
const measured = ["transport:connecting", "credential:started", "credential:ended"];

test("observeToolServers subscribes to every channel of tool servers, and to none after it is stopped", () => {
  const observation = observeToolServers({ registry: createRegistry() });
  expect(watched()).toEqual(Object.keys(channels).filter((name) => !measured.includes(name)));
  observation.stop();
  expect(watched()).toEqual([]);
});
