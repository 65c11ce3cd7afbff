import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { ChannelTraceEvent_Severity as Severity } from "@wirescope/channelz/client";
import { expect, test } from "vitest";
import { channel, socket } from "../object-model/snapshot.test.helper.js";
import { readTrace } from "./trace-entries.js";

test("lists the events of a trace, the newest first, with severity, time since the previous event and the related object", () => {
  const object = channel(
    1,
    { origin: "a" },
    {
      data: {
        trace: {
          numEventsLogged: 12n,
          creationTimestamp: timestampFromMs(1_000),
          events: [
            { description: "created", severity: Severity.CT_INFO, timestamp: timestampFromMs(1_000) },
            {
              description: "added",
              severity: Severity.CT_WARNING,
              timestamp: timestampFromMs(1_250),
              childRef: { case: "subchannelRef", value: { subchannelId: 7n } },
            },
            { description: "\u001b[31m<b>", severity: Severity.CT_ERROR },
          ],
        },
      },
    },
  );
  expect(readTrace(object)).toEqual({
    createdMs: 1_000,
    logged: 12n,
    entries: [
      {
        timeMs: undefined,
        sincePreviousMs: undefined,
        severity: "error",
        tone: "failing",
        description: "\\x1b[31m<b>",
        child: undefined,
      },
      {
        timeMs: 1_250,
        sincePreviousMs: 250,
        severity: "warning",
        tone: "waiting",
        description: "added",
        child: { key: "a|subchannel|7", label: "subchannel 7" },
      },
      {
        timeMs: 1_000,
        sincePreviousMs: undefined,
        severity: "info",
        tone: "idle",
        description: "created",
        child: undefined,
      },
    ],
  });
});

test("returns undefined for a socket and for an object without a trace", () => {
  expect(readTrace(socket(1, 2, 3))).toBeUndefined();
  expect(readTrace(channel(1))).toBeUndefined();
});
