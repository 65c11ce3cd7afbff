import { getEventListeners } from "node:events";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { ToolServerError } from "../errors.js";
import { waiting } from "../waiting.test.helper.js";
import { certificate, serverTls, startRawServer } from "./hostile-http-server.test.helper.js";
import type { HttpResponse } from "./http-client.js";
import { createTestClient, post } from "./http-client.test.helper.js";

/** How a server handles a request, whose response should be `body`. */
const manners: Readonly<Record<string, (socket: Socket, body: string) => unknown>> = {
  plain: (socket, body) => socket.write(responseOf(body)),
  chunked: (socket, body) => socket.write(chunkedOf(body)),
  announced: (socket, body) => socket.write(`HTTP/1.1 100 Continue\r\n\r\n${responseOf(body)}`),
  late: async (socket, body) => {
    await turns(3);
    socket.write(responseOf(body));
  },
  dripping: async (socket, body) => {
    for (const character of chunkedOf(body)) {
      socket.write(character);
      await turns(1);
    }
  },
  large: (socket, body) => socket.write(responseOf(body.padEnd(200_000, "."))),
  twice: (socket, body) => socket.write(responseOf(body) + responseOf("injected")),
  overlong: (socket, body) => socket.write(`${responseOf(body)}\r\n`),
  ending: (socket, body) => socket.end(responseOf(body)),
  closing: (socket, body) => socket.end(`HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${body}`),
  untimely: (socket, body) => socket.write(responseOf(body).replace("\r\n", "\r\nKeep-Alive: timeout=0\r\n")),
  broken: (socket, body) => socket.end(responseOf(body).slice(0, -1)),
  nonsense: (socket) => socket.write("injected\r\n\r\n"),
  // A TLS socket cannot be reset from here.
  reset: (socket) => (socket instanceof TLSSocket ? socket.destroy() : socket.resetAndDestroy()),
  silent: (socket) => socket.end(),
};

const responseOf = (body: string): string => `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunkedOf = (body: string): string =>
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** How a caller consumes its response; returns what it read. */
const readers: Readonly<Record<string, (response: HttpResponse) => Promise<string>>> = {
  text: (response) => response.text(1_000_000),
  slow: async (response) => {
    let text = "";
    await turns(2);
    await response.read(async (chunk) => {
      await turns(1);
      text += chunk;
    });
    return text;
  },
  discard: async (response) => {
    response.discard();
    return "";
  },
  throwing: async (response) => {
    let text = "";
    const read = response.read((chunk) => {
      text += chunk;
      throw new RangeError("enough");
    });
    await expect(read).rejects.toThrow("enough");
    return text;
  },
};

const call = fc.record({
  manner: fc.constantFrom(...Object.keys(manners)),
  reader: fc.constantFrom("text", "text", ...Object.keys(readers)),
  /** After how many turns it is cancelled. */
  cancelled: fc.option(fc.nat(8), { freq: 4 }),
  /** How many turns pass before the next. */
  pause: fc.constantFrom(0, 0, 1, 3),
});

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never;

const undisturbed = { reader: "text", cancelled: null, pause: 0 } as const;
/** A call for each outcome. */
const everyOutcome: readonly Call[] = [
  ...["plain", "nonsense", "broken"].map((manner) => ({ ...undisturbed, manner })),
  { ...undisturbed, manner: "plain", reader: "discard" },
];

/** Sends sequences of requests on direct connections, and half as many with TLS: only these pass Node's streams. */
export function describeHostileSequences(directRuns: number): void {
  test.each([
    ["direct", directRuns],
    ["secured", directRuns / 2],
  ])(
    "[TS-D-HTTP-3] gives each caller its own response or a failure, whatever happened on the %s connections before",
    async (kind, numRuns) => {
      const tls = kind === "secured" ? serverTls() : undefined;
      const server = await startRawServer(
        (socket) => {
          let seen = "";
          socket.setNoDelay(true);
          socket.on("data", (bytes) => {
            seen += bytes;
            for (let found = next(); found !== null; found = next()) {
              seen = seen.slice(found.index + found[0].length);
              void manners[found[2] ?? ""]?.(socket, found[1] ?? "");
            }
          });
          const next = (): RegExpExecArray | null => /^POST \/(\d+)\/(\w+) [\s\S]*?\r\n\r\nx/.exec(seen);
        },
        { tls },
      );
      const { http, published } = createTestClient({ tls: tls && { ca: certificate("ca") } });
      const reason = new RangeError("cancelled");
      // Of two digits at least, so that there is something to read of a response that lacks its last byte.
      let number = 9;
      const outcomes = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 12 }), async (calls) => {
          const pending: Promise<void>[] = [];
          for (const { manner, reader, cancelled, pause } of calls) {
            number += 1;
            const own = `${number}`;
            const controller = new AbortController();
            const { signal } = controller;
            const read = http
              .send(post(new URL(`/${own}/${manner}`, server.url), "x", { signal }))
              .then((response) => readers[reader]?.(response))
              .then(
                (text = "") => {
                  const whole = text.replace(/\.+$/, "");
                  outcomes.add(whole === "" ? "nothing" : "response");
                  if (reader === "discard") return;
                  // A reader that throws has read a part.
                  expect(reader === "throwing" ? own.slice(0, whole.length) : own).toBe(whole);
                },
                (error: unknown) => {
                  if (error === reason && signal.aborted) return;
                  if (!ToolServerError.is(error)) throw error;
                  outcomes.add(error.code);
                  expect(error.message).not.toContain("injected");
                },
              );
            if (cancelled !== null) void turns(cancelled).then(() => controller.abort(reason));
            pending.push(
              read.then(() => {
                // Discarded data may still arrive.
                if (reader !== "discard") expect(getEventListeners(signal, "abort")).toEqual([]);
              }),
            );
            await turns(pause);
          }
          await Promise.all(pending);
        }),
        { numRuns, examples: everyOutcome.map((each) => [[each]]) },
      );
      expect([...outcomes].sort()).toEqual(["CONNECTION_LOST", "NOT_A_TOOL_SERVER", "nothing", "response"]);
      await http.close();
      const totals = published.totals();
      expect(totals.closed).toBe(totals.opened);
      expect(totals["stream-succeeded"] + totals["stream-failed"]).toBe(totals["stream-started"]);
      // Connections were used again, if they could be.
      expect(totals.opened).toBeLessThan(totals["stream-started"]);
      await vi.waitFor(() => expect(server.sockets.size).toBe(0), waiting);
    },
  );
}
