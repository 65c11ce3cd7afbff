import { onTestFinished } from "vitest";
import { createTestContext, listenTo, type Published } from "../connection/transports/transport-context.test.helper.js";
import { createHttpClient, type HttpClientOptions } from "./create-http-client.js";
import type { HttpClient, HttpRequest } from "./http-client.js";

/** A client, and the events that it published. It closes with the test. */
export function createTestClient(options: Partial<HttpClientOptions> = {}): { http: HttpClient; published: Published } {
  const { server, info, secrets } = createTestContext("http");
  const published = listenTo(info);
  const http = createHttpClient({ server, secrets, transport: () => info, ...options });
  onTestFinished(() => http.close());
  return { http, published };
}

export function get(url: URL, more: Partial<HttpRequest> = {}): HttpRequest {
  return { method: "GET", url, headers: {}, ...more };
}

export function post(url: URL, body: string, more: Partial<HttpRequest> = {}): HttpRequest {
  return { method: "POST", url, headers: {}, body, ...more };
}
