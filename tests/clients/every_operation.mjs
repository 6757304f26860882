// Calls operations by the JavaScript client: a list of {method, kind, args, data} on standard input,
// their answers as a list on standard output.
import { readFileSync } from "node:fs";
import { Client } from "../../clients/js/src/index.js";

const calls = JSON.parse(readFileSync(0, "utf8"));
const client = new Client({ data: process.env.CELLA_DATA, start: false });
const told = [];
for (const { method, kind, args, data } of calls) {
  const more = data === undefined ? [] : [Buffer.from(data, "base64")];
  if (kind === "events") {
    for await (const event of client[method](args)) {
      told.push(event);
      break;
    }
    continue;
  }
  const answer = await client[method](args, ...more);
  if (kind === "json" || kind === "text") told.push(answer);
  if (kind === "bytes") told.push(answer.length);
  if (kind === "tunnel") told.push(answer.status);
  if (kind === "socket") {
    answer.close();
    told.push(null);
  }
}
client.close();
console.log(JSON.stringify(told));
