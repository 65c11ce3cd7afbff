import { createRegistry } from "@wirescope/channelz";
import { observeToolServers } from "@wirescope/instrument/tool-server";
import { channels } from "@wirescope/tool-server";
import { expect, test } from "vitest";

const watched = (): string[] =>
  Object.keys(channels).filter((name) => channels[name as keyof typeof channels].hasSubscribers);

test("who observes tool servers listens on each channel that they have, and on none once it is stopped", () => {
  const observation = observeToolServers({ registry: createRegistry() });
  expect(watched()).toEqual(Object.keys(channels));
  observation.stop();
  expect(watched()).toEqual([]);
});
