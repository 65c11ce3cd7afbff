import type { Socket } from "node:net";
import { onTestFinished } from "vitest";
import { createRegistry } from "../../registry/registry.js";
import type { NodeRequest, NodeResponse } from "../connect-handler.js";
import { type ChannelzListener, type ListenOptions, listenChannelz } from "../listen.js";
import { eventually, openSocket, portOf } from "../raw-caller.test.helper.js";
import type { PostAnswer } from "./post-answer.js";
import type { PostHandler } from "./post-lane.js";
import { readAnswers, type Told } from "./two-ways.test.helper.js";

/** A listener, and what it was asked. */
export interface Started {
  readonly listener: ChannelzListener;
  /** What passed Node's server, by method and path. */
  readonly throughNode: string[];
  /** What did not. */
  readonly direct: string[];
}

/** Answers with what it got. */
export const echo: PostHandler = ({ body }, response) => void response.writeHead(200).end(body);

/** Starts a listener that answers with the bodies it gets; posts to `/mcp` are answered past Node's server. */
export async function start(options: ListenOptions = {}, onPost: PostHandler = echo): Promise<Started> {
  const throughNode: string[] = [];
  const direct: string[] = [];
  const listener = await listenChannelz(createRegistry(), {
    fallback(request: NodeRequest, response: NodeResponse) {
      throughNode.push(`${request.method} ${request.url}`);
      const chunks: Buffer[] = [];
      request.on("data", (chunk) => void chunks.push(chunk));
      request.on("end", () => void response.end(Buffer.concat(chunks)));
    },
    posts: {
      "/mcp": (request, response) => {
        direct.push(request.body);
        onPost(request, response);
      },
    },
    ...options,
  });
  onTestFinished(() => listener.close({ deadlineMs: 0 }));
  return { listener, throughNode, direct };
}

/** Who calls a listener. */
export interface Caller {
  readonly socket: Socket;
  /** Waits for so many answers. */
  answers(count: number): Promise<readonly Told[]>;
  /** Waits for the end. */
  allAnswers(): Promise<readonly Told[]>;
}

/** Connects to a listener, and sends it that. */
export async function call({ address }: ChannelzListener, ...pieces: string[]): Promise<Caller> {
  const socket = await openSocket(portOf(address));
  onTestFinished(() => void socket.destroy());
  socket.setNoDelay(true);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  for (const piece of pieces) socket.write(piece);
  return {
    socket,
    async answers(count) {
      await eventually(() => readAnswers(text).length >= count);
      return readAnswers(text);
    },
    async allAnswers() {
      await eventually(() => socket.closed);
      return readAnswers(text, true);
    },
  };
}

/** A plain post. */
export const post = (body: string, headers = ""): string =>
  `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

/** Answers as they should be. */
export const told = (...bodies: string[]): Told[] => bodies.map((body) => ({ status: 200, body }));
/** Lets some turns of the loop pass. */
export const turns = async (count: number): Promise<void> => {
  for (let left = count; left > 0; left--) await new Promise((resolve) => setImmediate(resolve));
};

/** Answers when it is told to. */
export function createWaiting(): {
  readonly onPost: PostHandler;
  readonly due: PostAnswer[];
  answer(body?: string): void;
} {
  const due: PostAnswer[] = [];
  return { onPost: (_, response) => void due.push(response), due, answer: (body = "late") => due.shift()?.end(body) };
}
