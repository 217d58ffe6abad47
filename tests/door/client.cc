// A client of a door that is not Python, written from docs/door.md alone: publishes two messages with a producer's
// numbers, and reads them back. Arguments: the door's address, a token, a producer. Prints what it read, as
// position, producer, number and payload, one row a line.
#include <arrow/api.h>
#include <arrow/flight/api.h>

#include <iostream>
#include <string>

namespace flight = arrow::flight;

arrow::Status Run(const std::string& url, const std::string& token, const std::string& producer) {
  ARROW_ASSIGN_OR_RAISE(auto location, flight::Location::Parse(url));
  ARROW_ASSIGN_OR_RAISE(auto client, flight::FlightClient::Connect(location));
  flight::FlightCallOptions options;
  options.headers.emplace_back("authorization", "Bearer " + token);
  options.timeout = flight::TimeoutDuration{30.0};

  // DoPut: one batch with a column `payload`; the descriptor's command says whose numbers it has.
  arrow::BinaryBuilder builder;
  ARROW_RETURN_NOT_OK(builder.Append("first from C++"));
  ARROW_RETURN_NOT_OK(builder.Append("second from C++"));
  ARROW_ASSIGN_OR_RAISE(auto payload, builder.Finish());
  auto schema = arrow::schema({arrow::field("payload", arrow::binary())});
  auto batch = arrow::RecordBatch::Make(schema, 2, {payload});
  auto descriptor =
      flight::FlightDescriptor::Command("{\"producer\": \"" + producer + "\", \"number\": 7, \"until\": \"durable\"}");
  ARROW_ASSIGN_OR_RAISE(auto put, client->DoPut(options, descriptor, schema));
  ARROW_RETURN_NOT_OK(put.writer->WriteRecordBatch(*batch));
  std::shared_ptr<arrow::Buffer> answer;
  ARROW_RETURN_NOT_OK(put.reader->ReadMetadata(&answer));
  if (answer == nullptr) return arrow::Status::IOError("no answer");
  const std::string told = answer->ToString();  // {"positions":[first,last]}
  ARROW_RETURN_NOT_OK(put.writer->DoneWriting());
  ARROW_RETURN_NOT_OK(put.writer->Close());
  const auto bracket = told.find('[');
  if (bracket == std::string::npos) return arrow::Status::IOError(told);
  const long first = std::stol(told.substr(bracket + 1));

  // DoGet: from after a position, two rows.
  flight::Ticket ticket{"{\"after\": " + std::to_string(first - 1) + ", \"limit\": 2, \"follow\": true}"};
  ARROW_ASSIGN_OR_RAISE(auto stream, client->DoGet(options, ticket));
  while (true) {
    ARROW_ASSIGN_OR_RAISE(auto chunk, stream->Next());
    if (chunk.data == nullptr) break;
    for (int64_t row = 0; row < chunk.data->num_rows(); ++row) {
      for (const char* name : {"position", "producer", "number", "payload"}) {
        ARROW_ASSIGN_OR_RAISE(auto value, chunk.data->GetColumnByName(name)->GetScalar(row));
        std::string text = value->ToString();
        if (std::string(name) == "payload") {
          text = static_cast<const arrow::BinaryScalar&>(*value).value->ToString();
        }
        std::cout << text << (std::string(name) == "payload" ? "\n" : "\t");
      }
    }
  }

  // An action: the groups of the door.
  flight::Action action{"groups", nullptr};
  ARROW_ASSIGN_OR_RAISE(auto results, client->DoAction(options, action));
  ARROW_ASSIGN_OR_RAISE(auto result, results->Next());
  std::cout << result->body->ToString() << "\n";
  return client->Close();
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const arrow::Status status = Run(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::cerr << status.ToString() << "\n";
  return status.ok() ? 0 : 1;
}
