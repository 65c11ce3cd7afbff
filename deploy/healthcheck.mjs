// Exits with 0 if the gateway on this machine responds at /healthz, otherwise with 1. Pass its URL if it is not the default one. The
// certificate is not verified: this only checks whether the process responds, and sends nothing.

import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

const timeoutMs = 4000;
const given = process.argv[2];
const urls = given === undefined ? ["https://127.0.0.1:4690/healthz", "http://127.0.0.1:4690/healthz"] : [given];

/** Whether the URL returns 200. */
function isHealthyAt(url) {
  const send = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const request = send(url, { rejectUnauthorized: false, timeout: timeoutMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once("timeout", () => request.destroy());
    request.once("error", () => resolve(false));
    request.once("close", () => resolve(false));
    request.end();
  });
}

let isHealthy = false;
for (const url of urls) isHealthy ||= await isHealthyAt(url);
if (!isHealthy) console.error(`No healthy gateway responds at ${urls.join(" or ")}.`);
process.exit(isHealthy ? 0 : 1);
