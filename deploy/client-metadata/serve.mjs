// Serves the client-id metadata document of Wirescope as application/json, and a page that says what it is.
//
// Run it behind a proxy that serves https at the address in the document: node deploy/client-metadata/serve.mjs [port]

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const document = readFileSync(new URL("./client-metadata.json", import.meta.url), "utf8");
const { client_id: address, client_uri: home } = JSON.parse(document);

const page = `<!doctype html>
<html lang="en">
<title>Wirescope OAuth client</title>
<p>Wirescope signs in to tool servers as the OAuth client <code>${address}</code>.
<p>It runs on the machine of its user, so every code is sent to a loopback address.`;

/** A server for the document at the path of its address, and for the page at the path of the home page. */
export function createDocumentServer() {
  const responses = new Map([
    [new URL(address).pathname, ["application/json", document]],
    [new URL(home).pathname, ["text/html; charset=utf-8", page]],
  ]);
  return createServer((request, response) => {
    const [type, body] = responses.get((request.url ?? "").split("?", 1)[0]) ?? [];
    if (type === undefined || (request.method !== "GET" && request.method !== "HEAD")) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {
      "content-type": type,
      "cache-control": "max-age=3600",
      "x-content-type-options": "nosniff",
    });
    response.end(request.method === "HEAD" ? undefined : body);
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const port = Number(process.argv[2] ?? 8080);
  createDocumentServer().listen(port, "127.0.0.1", () => console.error(`http://127.0.0.1:${port} serves ${address}`));
}
