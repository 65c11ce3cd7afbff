import { create, createFileRegistry } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, file_google_protobuf_wrappers } from "@bufbuild/protobuf/wkt";

// In an application, `buf generate` creates this from a schema; here it is written by hand, to keep the example in two files.
const text = ".google.protobuf.StringValue";
const files = create(FileDescriptorSetSchema, {
  file: [
    file_google_protobuf_wrappers.proto,
    {
      name: "shop.proto",
      package: "example",
      syntax: "proto3",
      dependency: ["google/protobuf/wrappers.proto"],
      service: [{ name: "Shop", method: [{ name: "Buy", inputType: text, outputType: text }] }],
    },
  ],
});

/** service Shop { rpc Buy(google.protobuf.StringValue) returns (google.protobuf.StringValue); } */
export const Shop = createFileRegistry(files).getService("example.Shop");
