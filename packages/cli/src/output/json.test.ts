import { create, toBinary } from "@bufbuild/protobuf";
import { ChannelSchema, SocketOptionTimeoutSchema, SocketSchema } from "@wirescope/channelz/client";
import { describe, expect, test } from "vitest";
import { formatJson } from "./json.js";
import { messageToJson } from "./message-json.js";

describe("messageToJson", () => {
  test("writes 64-bit integers as strings, and writes zero", () => {
    const json = messageToJson(ChannelSchema, create(ChannelSchema, { ref: { channelId: 2n ** 63n - 1n }, data: {} }));
    expect(json).toMatchObject({
      ref: { channelId: "9223372036854775807", name: "" },
      data: { callsStarted: "0", target: "" },
      subchannelRef: [],
    });
  });

  test("[CZ-D-VER-2] decodes payloads of either package", () => {
    const value = toBinary(SocketOptionTimeoutSchema, create(SocketOptionTimeoutSchema, { duration: { seconds: 3n } }));
    for (const name of ["rpc.channelz.v1", "grpc.channelz.v1"]) {
      const typeUrl = `type.googleapis.com/${name}.SocketOptionTimeout`;
      const socket = create(SocketSchema, {
        data: { option: [{ name: "SO_RCVTIMEO", additional: { typeUrl, value } }] },
      });
      expect(messageToJson(SocketSchema, socket)).toMatchObject({
        data: { option: [{ additional: { "@type": typeUrl, duration: "3s" } }] },
      });
    }
  });

  test("shows the type and the bytes of a payload of an unknown type", () => {
    const socket = create(SocketSchema, {
      local: {
        address: {
          case: "otherAddress",
          value: { name: "x", value: { typeUrl: "type.googleapis.com/a.B", value: Uint8Array.of(1, 2, 3) } },
        },
      },
    });
    expect(messageToJson(SocketSchema, socket)).toMatchObject({
      local: { otherAddress: { value: { "@type": "type.googleapis.com/a.B", value: "AQID" } } },
    });
  });

  test("shows invalid payloads as bytes and omits times that JSON cannot express", () => {
    const socket = create(SocketSchema, {
      ref: { socketId: 1n },
      data: {
        lastMessageSentTimestamp: { seconds: 2n ** 60n },
        lastMessageReceivedTimestamp: { seconds: 1n, nanos: -1 },
        option: [
          {
            name: "BROKEN",
            additional: { typeUrl: "x/rpc.channelz.v1.SocketOptionTimeout", value: Uint8Array.of(255) },
          },
        ],
      },
    });
    const json = messageToJson(SocketSchema, socket);
    expect(json).toMatchObject({
      ref: { socketId: "1" },
      data: {
        option: [{ name: "BROKEN", additional: { "@type": "x/rpc.channelz.v1.SocketOptionTimeout", value: "/w==" } }],
      },
    });
    expect(json.data).not.toHaveProperty("lastMessageSentTimestamp");
    expect(json.data).not.toHaveProperty("lastMessageReceivedTimestamp");
  });

  test("does not change the message itself", () => {
    const socket = create(SocketSchema, { data: { lastMessageSentTimestamp: { seconds: 2n ** 60n } } });
    messageToJson(SocketSchema, socket);
    expect(socket.data?.lastMessageSentTimestamp?.seconds).toBe(2n ** 60n);
  });
});

test("escapes characters that could control a terminal without changing the meaning of the JSON", () => {
  const value = { name: "\u009b2J\u202e\u{e0041} 日本 \u001b" };
  const text = formatJson([value]);
  expect(text).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u);
  expect(JSON.parse(text)).toEqual([value]);
});
