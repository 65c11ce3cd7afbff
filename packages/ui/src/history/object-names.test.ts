import type { TimelineChange } from "@wirescope/channelz/timeline";
import { expect, test } from "vitest";
import { channel, snapshotOf, socket, subchannel } from "../object-model/snapshot.test.helper.js";
import { objectNames } from "./object-names.js";

const closed = (key: string, name: string): TimelineChange => ({ timeMs: 0, kind: "disappeared", key, name, text: "" });

test("names an object, or what it belongs to, or its target, and a closed object as it closed", () => {
  const { objects } = snapshotOf([
    channel(1, { name: "orders", target: "https://orders.example", children: ["subchannel 2"] }),
    subchannel(2, { target: "https://orders.example", children: ["socket 3"] }),
    socket(3, 1000, 443),
    channel(4, { target: "dns:///stock" }),
    channel(5, { children: ["channel 6"] }),
    channel(6, { children: ["channel 5"] }),
  ]);
  const nameOf = objectNames(
    [closed("|channel|7", "files (old)"), closed("|socket|8", ""), closed("|channel|1", "before")],
    objects,
  );
  const keys = ["|channel|1", "|subchannel|2", "|socket|3", "|channel|4", "|channel|5", "|channel|7", "|socket|8"];
  expect(keys.map(nameOf)).toEqual(["orders", "orders", "orders", "dns:///stock", "", "files (old)", ""]);
});
