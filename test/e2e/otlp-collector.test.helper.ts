import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { onTestFinished } from "vitest";

export type Value = string | number | boolean | undefined;

export interface CollectedSpan {
  readonly trace: string;
  readonly id: string;
  /** Empty if it has no parent. */
  readonly parent: string;
  readonly name: string;
  /** 2 for a server, 3 for a client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, Value>>;
  /** The names of its events. */
  readonly events: readonly string[];
  /** The ids of the spans that it is linked to. */
  readonly links: readonly string[];
  readonly resource: Readonly<Record<string, Value>>;
}

/** An OTLP collector over HTTP with protobuf. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** The names of the received metrics. */
  readonly metrics: ReadonlySet<string>;
  readonly headers: readonly IncomingHttpHeaders[];
  /** All received bodies, not decompressed. */
  readonly bodies: readonly Buffer[];
}

/** Runs a collector until the test ends. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const metrics = new Set<string>();
  const headers: IncomingHttpHeaders[] = [];
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      headers.push(request.headers);
      const body = Buffer.concat(chunks);
      bodies.push(body);
      if (request.headers["content-type"] !== "application/x-protobuf") return response.writeHead(415).end();
      if (request.url === "/v1/traces") spans.push(...readSpans(body));
      else if (request.url === "/v1/metrics") for (const name of readMetricNames(body)) metrics.add(name);
      else return response.writeHead(404).end();
      return response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, metrics, headers, bodies };
}

// The field numbers are those of opentelemetry/proto/{trace,metrics,common}/v1.

function readSpans(body: Uint8Array): CollectedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const resource = Object.assign({}, ...messages(resourceSpans, 1).map((found) => attributesIn(found, 1)));
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => ({
        trace: hex(span, 1),
        id: hex(span, 2),
        parent: hex(span, 4),
        name: text(span, 5),
        kind: Number(fieldsOf(span).get(6)?.[0] ?? 0),
        attributes: attributesIn(span, 9),
        events: messages(span, 11).map((event) => text(event, 2)),
        links: messages(span, 13).map((link) => hex(link, 2)),
        resource,
      }));
  });
}

function readMetricNames(body: Uint8Array): string[] {
  return messages(body, 1)
    .flatMap((resourceMetrics) => messages(resourceMetrics, 2))
    .flatMap((scopeMetrics) => messages(scopeMetrics, 2))
    .map((metric) => text(metric, 1));
}

function attributesIn(message: Uint8Array, field: number): Record<string, Value> {
  return Object.fromEntries(
    messages(message, field).map((pair) => {
      const value = fieldsOf(messages(pair, 2)[0] ?? new Uint8Array());
      const [string, , integer] = [1, 2, 3].map((number) => value.get(number)?.[0]);
      return [text(pair, 1), string instanceof Uint8Array ? Buffer.from(string).toString() : Number(integer)];
    }),
  );
}

type Raw = Uint8Array | number | bigint;

function fieldsOf(message: Uint8Array): ReadonlyMap<number, readonly Raw[]> {
  const reader = new BinaryReader(message);
  const fields = new Map<number, Raw[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    if (type === WireType.LengthDelimited) values.push(reader.bytes());
    else if (type === WireType.Varint) values.push(BigInt(reader.uint64()));
    else if (type === WireType.Bit64) values.push(BigInt(reader.fixed64()));
    else if (type === WireType.Bit32) values.push(reader.fixed32());
    else throw new Error(`Wire type ${type}`);
  }
  return fields;
}

function messages(message: Uint8Array, field: number): Uint8Array[] {
  return (fieldsOf(message).get(field) ?? []).filter((value) => value instanceof Uint8Array);
}

const text = (message: Uint8Array, field: number): string => Buffer.from(messages(message, field)[0] ?? []).toString();
const hex = (message: Uint8Array, field: number): string =>
  Buffer.from(messages(message, field)[0] ?? []).toString("hex");
