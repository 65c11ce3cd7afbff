/** Where the parts of the demonstration are, each `host:port`. */
export interface DemoPlaces {
  readonly channelz: string;
  readonly greeter: string;
  readonly nobody: string;
}

/** What a person is told when the demonstration is ready: what is where, and how to look at it. At most 80 columns. */
export function demoNotice(places: DemoPlaces, bold: (text: string) => string): string {
  const rows = [
    ["Channelz", places.channelz, "gRPC, gRPC-Web and Connect; HTTP/1.1 and 2"],
    ["Greeter", places.greeter, "a server, called four times a second"],
    ["Nobody", places.nobody, "where nobody listens, called all the same"],
  ] as const;
  const row = ([name, address, what]: (typeof rows)[number]): string =>
    `  ${bold(name.padEnd(9))} ${address.padEnd(16)} ${what}`;
  return `The demonstration is running. Ctrl-C ends it.

${rows.map(row).join("\n")}

Look at it from another terminal:

  npx wirescope tree --target ${places.channelz}
  npx wirescope channels --target ${places.channelz}
  npx wirescope servers --target ${places.channelz}

  curl -H 'content-type: application/json' -d '{}' \\
    http://${places.channelz}/rpc.channelz.v1.Channelz/GetTopChannels

  npx buf curl --protocol grpc --http2-prior-knowledge \\
    http://${places.channelz}/grpc.channelz.v1.Channelz/GetServers
`;
}
