// A marking server over pipes: node stdio-server.js <legacy|modern> <name>
import { createMarkingServer, type Era } from "./marking-server.js";

const [era = "legacy", name = ""] = process.argv.slice(2);
const server = createMarkingServer(name, era as Era);
const send = (message: object): void => void process.stdout.write(`${JSON.stringify(message)}\n`);
let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  for (const line of lines) {
    if (line.trim() === "") continue;
    void server.receive(JSON.parse(line), send).then((reply) => reply && send(reply));
  }
});
process.stdin.on("end", () => process.exit());
