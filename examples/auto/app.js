// An application that does not use Wirescope: an HTTP/1.1 server, an HTTP/2 server, and a client of each.
import { once } from "node:events";
import { createServer as createHttpServer, get } from "node:http";
import { connect, createServer as createHttp2Server } from "node:http2";

const web = createHttpServer((_request, response) => response.end("hello from HTTP/1.1\n"));
web.listen(0, "127.0.0.1");
await once(web, "listening");

const rpc = createHttp2Server((_request, response) => response.end("hello from HTTP/2\n"));
rpc.listen(0, "127.0.0.1");
await once(rpc, "listening");

const [response] = await once(get(`http://127.0.0.1:${web.address().port}/`), "response");
process.stdout.write(String((await response.toArray()).join("")));

const session = connect(`http://127.0.0.1:${rpc.address().port}`);
const stream = session.request({ ":path": "/" });
process.stdout.write(String((await stream.toArray()).join("")));

// Runs until it gets input.
process.stdout.write("ready\n");
process.stdin.resume();
process.stdin.once("data", () => {
  session.close();
  web.close();
  web.closeAllConnections();
  rpc.close();
  process.stdin.destroy();
});
