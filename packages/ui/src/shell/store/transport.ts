import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { gatewayFetch } from "./gateway-fetch.js";
import { sessionHeaders } from "./session.js";

/** All services are on the page's origin, and the browser sends the cookie. */
export const transport: Transport = createConnectTransport({
  baseUrl: location.origin,
  useBinaryFormat: true,
  fetch: gatewayFetch,
  interceptors: [
    (next) => (request) => {
      for (const [name, value] of Object.entries(sessionHeaders())) request.header.set(name, value);
      return next(request);
    },
  ],
});
