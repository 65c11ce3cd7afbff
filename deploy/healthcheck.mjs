// Ends with 0 where the gateway of this machine answers at /healthz, with 1 where it does not. Give its url where it is not the usual
// one. Its certificate is not looked at: this asks whether it lives, from beside it, and tells it nothing.

import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

const timeoutMs = 4000;
const given = process.argv[2];
const urls = given === undefined ? ["https://127.0.0.1:4690/healthz", "http://127.0.0.1:4690/healthz"] : [given];

/** Whether the url answers with 200. */
function answers(url) {
  const request = url.startsWith("https:") ? requestHttps : requestHttp;
  return new Promise((resolve) => {
    const asked = request(url, { rejectUnauthorized: false, timeout: timeoutMs }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.once("timeout", () => asked.destroy());
    asked.once("error", () => resolve(false));
    asked.once("close", () => resolve(false));
    asked.end();
  });
}

let isHealthy = false;
for (const url of urls) isHealthy ||= await answers(url);
if (!isHealthy) console.error(`Nothing healthy answers at ${urls.join(" or ")}.`);
process.exit(isHealthy ? 0 : 1);
