// Serves the client-id metadata document of Wirescope as application/json, and a page that says what it is.
//
// node deploy/client-metadata/serve.mjs <address> [port]     serve it, behind a proxy that serves https at the address
// node deploy/client-metadata/serve.mjs <address> --print    print it, for a static host

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const client = JSON.parse(readFileSync(new URL("./client-metadata.json", import.meta.url), "utf8"));

/** The document for this https URL, which is also its client id. Throws a TypeError if the URL cannot be a client id. */
function documentAt(address) {
  const url = new URL(address);
  const isUsable = url.protocol === "https:" && url.pathname !== "/" && url.hash === "" && url.username === "";
  if (!isUsable || url.href !== address) throw new TypeError(`${address} is not an https:// URL with a path.`);
  return { client_id: address, client_uri: `${url.origin}/`, ...client };
}

/** A server for the document at the path of its address, and for a page at `/`. */
export function createDocumentServer(address) {
  const document = `${JSON.stringify(documentAt(address), undefined, 2)}\n`;
  const shown = address.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const page = `<!doctype html>
<html lang="en">
<title>Wirescope OAuth client</title>
<p>Wirescope signs in to tool servers as the OAuth client <code>${shown}</code>.
<p>It runs on the machine of its user, so every code is sent to a loopback address.`;
  const responses = new Map([
    [new URL(address).pathname, ["application/json", document]],
    ["/", ["text/html; charset=utf-8", page]],
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
  const [address = "", option = "8080"] = process.argv.slice(2);
  try {
    if (option === "--print") console.log(JSON.stringify(documentAt(address), undefined, 2));
    else
      createDocumentServer(address).listen(Number(option), "127.0.0.1", () =>
        console.error(`http://127.0.0.1:${option} serves ${address}`),
      );
  } catch (error) {
    console.error(`${error.message} Pass a URL such as https://auth.example.com/wirescope.json.`);
    process.exitCode = 2;
  }
}
