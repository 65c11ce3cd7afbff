import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import {
  ChannelSchema,
  ServerSchema,
  ChannelTraceEvent_Severity as Severity,
  SocketOptionLingerSchema,
  SocketOptionTimeoutSchema,
  SocketSchema,
} from "@wirescope/channelz/client";
import { describe, expect, test } from "vitest";
import type { Io } from "../io.js";
import { channelLines, serverLines, socketLines } from "./describe.js";
import { createScreen, type Screen } from "./screen.js";

const now = new Date("2026-01-31T12:00:00Z");
const seconds = BigInt(now.getTime() / 1000);

function screen(env: Io["env"] = {}): Screen {
  const nowhere = { write: () => true };
  return createScreen({ stdout: nowhere, stderr: nowhere, env, now: () => now }, false);
}

const certificate = new X509Certificate(
  readFileSync(new URL("../../../channelz/src/dial/testdata/server.pem", import.meta.url)),
);

function socketText(init: MessageInitShape<typeof SocketSchema>): string {
  return socketLines(create(SocketSchema, init), screen()).join("\n");
}

const tls = (remoteCertificate: Uint8Array) =>
  ({
    model: {
      case: "tls",
      value: { cipherSuite: { case: "standardName", value: "TLS_AES_256_GCM_SHA384" }, remoteCertificate },
    },
  }) as const;

describe("sockets", () => {
  test("[CZ-SOCKET-16] [CZ-SOCKET-3] shows a socket that has nothing but an id", () => {
    const text = socketText({ ref: { socketId: 7n } });
    expect(text).toMatch(/^socket 7\n/);
    expect(text).toMatch(/remote +-\n/);
    expect(text).not.toContain("security");
  });

  test("shows cipher, subject, issuer and expiry, from DER and from PEM", () => {
    for (const bytes of [certificate.raw, Buffer.from(certificate.toString())]) {
      const text = socketText({ security: tls(bytes) });
      expect(text).toMatch(/security +TLS TLS_AES_256_GCM_SHA384/);
      expect(text).toMatch(/remote certificate +CN=localhost/);
      expect(text).toMatch(/issuer +CN=Wirescope test authority/);
      expect(text).toMatch(/expires +in \d+ d \(2120-01-01T00:00:00\.000Z\)/);
    }
  });

  test("accepts bytes that are not a certificate", () => {
    expect(socketText({ security: tls(Uint8Array.of(1, 2, 3)) })).toContain("3 bytes that are not a certificate");
  });

  test("[CZ-SOCKET-15] distinguishes a window of 0 from an unknown one", () => {
    const text = socketText({ data: { localFlowControlWindow: 0n } });
    expect(text).toMatch(/local window +0 bytes/);
    expect(text).toMatch(/remote window +unknown/);
  });

  test("[CZ-OPT-3] decodes the payloads of options, and shows the bytes of unknown ones", () => {
    const duration = { seconds: 3n };
    const text = socketText({
      data: {
        option: [
          {
            name: "SO_RCVTIMEO",
            additional: {
              typeUrl: "type.googleapis.com/grpc.channelz.v1.SocketOptionTimeout",
              value: toBinary(SocketOptionTimeoutSchema, create(SocketOptionTimeoutSchema, { duration })),
            },
          },
          {
            name: "SO_LINGER",
            value: "on",
            additional: {
              typeUrl: "type.googleapis.com/rpc.channelz.v1.SocketOptionLinger",
              value: toBinary(SocketOptionLingerSchema, create(SocketOptionLingerSchema, { active: true, duration })),
            },
          },
          { name: "SO_KEEPALIVE", value: "true" },
          { name: "ODD", additional: { typeUrl: "example.com/a.Thing", value: Uint8Array.of(1, 2) } },
          {
            name: "BROKEN",
            additional: { typeUrl: "x/rpc.channelz.v1.SocketOptionTcpInfo", value: Uint8Array.of(255) },
          },
        ],
      },
    });
    expect(text).toMatch(/SO_RCVTIMEO +timeout 3 s/);
    expect(text).toMatch(/SO_LINGER +on {2}linger 3 s/);
    expect(text).toMatch(/SO_KEEPALIVE +true/);
    expect(text).toMatch(/ODD +\(example\.com\/a\.Thing, 2 bytes\)/);
    expect(text).toMatch(/BROKEN +\(SocketOptionTcpInfo: unreadable bytes\)/);
  });
});

describe("channels", () => {
  test("[CZ-D-COUNT-2] shows the counters of the peer, even if they are inconsistent", () => {
    const data = { callsStarted: 411n, callsSucceeded: -1n, callsFailed: 2n ** 63n - 1n };
    const text = channelLines(create(ChannelSchema, { ref: { channelId: 1n }, data }), screen()).join("\n");
    for (const counter of ["411", "-1", "9223372036854775807"]) expect(text.replaceAll(",", "")).toContain(counter);
  });
});

describe("traces", () => {
  const channel = create(ChannelSchema, {
    ref: { channelId: 1n, name: "api" },
    data: {
      trace: {
        numEventsLogged: 40n,
        creationTimestamp: { seconds: seconds - 3600n },
        events: [
          { description: "made", severity: Severity.CT_INFO, timestamp: { seconds: seconds - 90n } },
          {
            description: "lost\u001b[2J",
            severity: Severity.CT_ERROR,
            timestamp: { seconds: seconds - 3n },
            childRef: { case: "subchannelRef", value: { subchannelId: 2n } },
          },
          { description: "odd", severity: 9 as Severity },
        ],
      },
    },
  });

  test("[CZ-D-TRACE-5] shows relative and absolute times, severities including unknown ones, children, and the number of discarded events", () => {
    const text = channelLines(channel, screen()).join("\n");
    expect(text).toContain("40 events, the last 3 kept; created 1 h ago (2026-01-31T11:00:00.000Z)");
    expect(text).toMatch(/1 min ago +2026-01-31T11:58:30\.000Z +info +made/);
    expect(text).toMatch(/3 s ago +2026-01-31T11:59:57\.000Z +error +lost\\x1b\[2J {2}→ subchannel 2/);
    expect(text).toMatch(/never +unknown +odd/);
  });

  test.each([80, 60])("[CZ-D-CLI-7] keeps every line of a channel within %i columns", (width) => {
    const lines = channelLines(channel, { ...screen(), width });
    expect(lines.filter((line) => line.length > width)).toEqual([]);
    expect(lines.join("\n")).toContain("40 events, the last 3 kept; created 1 h ago\n");
  });

  test("[CZ-D-CLI-7] wraps long events below their text, and leaves out exact times in a narrow terminal", () => {
    const description = `connect failed: ${"certificate verify failed ".repeat(6)}${"x".repeat(90)}`;
    const long = create(ChannelSchema, {
      data: { trace: { events: [{ description, severity: Severity.CT_WARNING, timestamp: { seconds } }] } },
    });
    const lines = channelLines(long, { ...screen(), width: 80 });
    const event = lines.slice(lines.findIndex((line) => line.includes("connect failed")));
    expect(event.length).toBeGreaterThan(3);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
    expect(event[0]).toMatch(/^ {4}just now {4}warning {2}connect failed: /);
    for (const line of event.slice(1)) expect(line).toMatch(/^ {25}\S/);
    expect(event.map((line) => line.trim()).join("")).toContain("x".repeat(90));
    expect(channelLines(long, screen()).at(-1)).toContain(description);
  });

  test("shows severities in colour", () => {
    const text = channelLines(channel, screen({ FORCE_COLOR: "1" })).join("\n");
    expect(text).toContain("\u001b[31merror");
  });

  test("[CZ-DATA-2] [CZ-SERVER-5] shows no trace if it is absent", () => {
    expect(
      channelLines(create(ChannelSchema, { ref: { channelId: 1n }, data: {} }), screen()).join("\n"),
    ).not.toContain("trace");
    expect(serverLines(create(ServerSchema, { ref: { serverId: 1n }, data: {} }), screen()).join("\n")).not.toContain(
      "trace",
    );
  });
});
