import { readFileSync } from "node:fs";
import { connect as connectHttp2, createSecureServer } from "node:http2";
import { Agent, request as httpsRequest } from "node:https";
import type { AddressInfo } from "node:net";
import { TLSSocket } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import type { EndpointRequest } from "../endpoint/http-request.js";
import { createRequesters } from "./requester.js";

const certificate = (name: string): string =>
  readFileSync(new URL(`../../../../test/certificates/${name}.pem`, import.meta.url), "utf8");

const as = (name: string) => ({ rejectUnauthorized: false, cert: certificate(name), key: certificate(`${name}-key`) });

/** A server that responds with the principal of each request; returns its port. */
async function servePrincipals(): Promise<number> {
  const requesterOf = createRequesters({ hasToken: true });
  const tls = { cert: certificate("server"), key: certificate("server-key") };
  const ca = [certificate("ca"), certificate("other-ca")];
  const server = createSecureServer({ ...tls, ca, requestCert: true, allowHTTP1: true }, (request, response) => {
    response.end(requesterOf(request as EndpointRequest).principal);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends requests on one connection; returns their principals. */
type Ask = (token: string) => Promise<string>;

function overHttp1(port: number, name: string): Ask {
  const agent = new Agent({ ...as(name), keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return (token) =>
    new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, agent, headers: { authorization: token } };
      const request = httpsRequest(options, (response) => resolve(textOf(response)));
      request.on("error", reject).end();
    });
}

function overHttp2(port: number, name: string): Ask {
  const session = connectHttp2(`https://127.0.0.1:${port}`, as(name));
  onTestFinished(() => session.destroy());
  return (token) => textOf(session.request({ authorization: token }));
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  return text;
}

test.each([
  ["HTTP/1.1", overHttp1],
  ["HTTP/2", overHttp2],
])(
  "distinguishes requests over %s by certificate and token, and reads a connection's certificate once",
  async (_, connect) => {
    const read = vi.spyOn(TLSSocket.prototype, "getPeerCertificate");
    onTestFinished(() => read.mockRestore());
    const port = await servePrincipals();
    const first = connect(port, "client");
    const principals = [await first("a"), await first("b"), await first("a")];
    expect(principals[2]).toBe(principals[0]);
    expect(principals[1]).not.toBe(principals[0]);
    expect(read.mock.contexts.filter((socket) => (socket as TLSSocket & { server?: unknown }).server)).toHaveLength(1);
    expect(await connect(port, "client")("a")).toBe(principals[0]);
    const other = connect(port, "other-client");
    expect(principals).not.toContain(await other("a"));
    expect(principals).not.toContain(await other("b"));
  },
);

test.each([
  ["Forwarded", { forwarded: "for=192.0.2.1" }, "1.1", true],
  ["X-Forwarded-For", { "x-forwarded-for": "192.0.2.1" }, "1.1", true],
  ["X-Forwarded-Host", { "x-forwarded-host": "gateway.example" }, "1.1", true],
  ["X-Forwarded-Proto", { "x-forwarded-proto": "https" }, "1.1", true],
  ["X-Real-IP", { "x-real-ip": "192.0.2.1" }, "1.1", true],
  ["Via", { via: "1.1 proxy" }, "2.0", true],
  ["HTTP/1.0", {}, "1.0", true],
  ["HTTP/1.1", {}, "1.1", false],
  ["HTTP/2", {}, "2.0", false],
])(
  "[TS-D-SIGNIN-8] recognizes by %s whether a proxy forwarded a request, so that it gets no session of a local client",
  (_, headers, httpVersion, isForwarded) => {
    const requesterOf = createRequesters({ hasToken: true });
    const authorization = "Bearer a";
    const local = requesterOf({ headers: { authorization }, httpVersion: "1.1", socket: {} } as EndpointRequest);
    const request = { headers: { ...headers, authorization }, httpVersion, socket: {} } as EndpointRequest;
    expect(requesterOf(request).isForwarded).toBe(isForwarded);
    expect(requesterOf(request).principal === local.principal).toBe(!isForwarded);
  },
);
