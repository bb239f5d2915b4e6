/** What KEDA 2.21.0 (Apache-2.0) tests: how many tests its unit test files have, and its packages of end-to-end tests. */

/** The number of tests, and the file here that has them. A spec of Ginkgo is a test, and so is the function that starts specs. */
export const UNIT_TESTS: Readonly<Record<string, { readonly count: number; readonly here: string }>> = {
  "apis/keda/v1alpha1/scaledobject_webhook_test.go": { count: 71, here: "webhook_cases.ts" },
  "pkg/fallback/fallback_test.go": { count: 16, here: "fallback_test.ts" },
  "pkg/scaling/executor/scale_scaledobjects_test.go": { count: 33, here: "executor_test.ts" },
  "pkg/scalers/prometheus_scaler_test.go": { count: 8, here: "prometheus_test.ts" },
  "pkg/scalers/metrics_api_scaler_test.go": { count: 10, here: "metrics_api_test.ts" },
  "pkg/scalers/cron_scaler_test.go": { count: 6, here: "local_scalers_test.ts" },
  "pkg/scalers/kubernetes_resource_scaler_test.go": { count: 4, here: "kubernetes_resource_test.ts" },
  "pkg/scalers/kubernetes_workload_scaler_test.go": { count: 5, here: "local_scalers_test.ts" },
  "pkg/scalers/cpu_memory_scaler_test.go": { count: 3, here: "local_scalers_test.ts" },
};

/** The folders in KEDA's `tests` that have a test. */
export const END_TO_END_PACKAGES: readonly string[] = `
internals/cache_metrics internals/cloudevent_source internals/custom_hpa_name
internals/eventemitter/azureeventgridtopic internals/events internals/fallback internals/fallback/deployments
internals/fallback/rollouts internals/file_based_auth internals/force_activation internals/global_custom_ca
internals/idle_replicas internals/initial_delay_cooldownperiod internals/min_replica_sj internals/pause_scale_in
internals/pause_scale_in_restore internals/pause_scale_out internals/pause_scaledjob internals/pause_scaledobject
internals/pause_scaledobject_explicitly internals/polling_cooldown_so internals/polling_irrelevant_so
internals/replica_update_so internals/replicaset_scale internals/restore_original internals/scaled_job_conditions
internals/scaled_job_validation internals/scaled_object_validation internals/scaling_modifiers
internals/scaling_strategies/accurate_scaling_strategy internals/scaling_strategies/eager_scaling_strategy
internals/status_update internals/subresource_scale internals/trigger_authentication_validation
internals/trigger_update_so internals/update_ta internals/value_metric_type scalers/activemq scalers/apache_kafka
scalers/arangodb scalers/artemis scalers/aws/aws_cloudwatch scalers/aws/aws_cloudwatch_cross_account
scalers/aws/aws_cloudwatch_expression scalers/aws/aws_cloudwatch_ignore_null_values_false
scalers/aws/aws_cloudwatch_metric_stat scalers/aws/aws_cloudwatch_min_metric_value
scalers/aws/aws_cloudwatch_pod_identity scalers/aws/aws_cloudwatch_pod_identity_eks scalers/aws/aws_dynamodb
scalers/aws/aws_dynamodb_pod_identity scalers/aws/aws_dynamodb_pod_identity_eks scalers/aws/aws_dynamodb_streams
scalers/aws/aws_dynamodb_streams_pod_identity scalers/aws/aws_dynamodb_streams_pod_identity_eks
scalers/aws/aws_kinesis_stream scalers/aws/aws_kinesis_stream_pod_identity
scalers/aws/aws_kinesis_stream_pod_identity_eks scalers/aws/aws_managed_prometheus
scalers/aws/aws_managed_prometheus_pod_identity scalers/aws/aws_sqs_queue scalers/aws/aws_sqs_queue_pod_identity
scalers/aws/aws_sqs_queue_pod_identity_eks scalers/azure/azure_application_insights
scalers/azure/azure_application_insights_aad_wi scalers/azure/azure_blob scalers/azure/azure_blob_aad_wi
scalers/azure/azure_cosmosdb scalers/azure/azure_cosmosdb_aad_wi scalers/azure/azure_data_explorer
scalers/azure/azure_data_explorer_aad_wi scalers/azure/azure_event_hub_aad_wi
scalers/azure/azure_event_hub_blob_metadata scalers/azure/azure_event_hub_blob_metadata_wi
scalers/azure/azure_event_hub_dapr scalers/azure/azure_event_hub_dapr_wi scalers/azure/azure_event_hub_go_sdk
scalers/azure/azure_log_analytics scalers/azure/azure_log_analytics_aad_wi
scalers/azure/azure_managed_prometheus/azure_managed_prometheus_aad_workload_identity scalers/azure/azure_monitor
scalers/azure/azure_monitor_aad_wi scalers/azure/azure_pipelines scalers/azure/azure_pipelines_aad_wi
scalers/azure/azure_pipelines_adv scalers/azure/azure_pipelines_sp scalers/azure/azure_queue
scalers/azure/azure_queue_aad_wi scalers/azure/azure_service_bus_queue scalers/azure/azure_service_bus_queue_aad_wi
scalers/azure/azure_service_bus_queue_regex scalers/azure/azure_service_bus_topic
scalers/azure/azure_service_bus_topic_aad_wi scalers/azure/azure_service_bus_topic_regex scalers/beanstalkd
scalers/cassandra scalers/clickhouse scalers/couchdb scalers/cpu scalers/cron scalers/datadog/datadog_api
scalers/dynatrace scalers/dynatrace_dql scalers/elastic_forecast scalers/elasticsearch scalers/etcd/etcd_cluster
scalers/etcd/etcd_cluster_auth scalers/external_push_scaler scalers/external_push_scaler_old_proto
scalers/external_scaler_sj scalers/external_scaler_so scalers/forgejo_runner scalers/gcp/gcp_cloud_tasks
scalers/gcp/gcp_cloud_tasks_workload_identity scalers/gcp/gcp_prometheus_workload_identity scalers/gcp/gcp_pubsub
scalers/gcp/gcp_pubsub_topic scalers/gcp/gcp_pubsub_workload_identity scalers/gcp/gcp_spanner
scalers/gcp/gcp_stackdriver scalers/gcp/gcp_stackdriver_workload_identity scalers/gcp/gcp_storage
scalers/gcp/gcp_storage_workload_identity scalers/github_runner scalers/graphite scalers/ibmmq
scalers/influxdb/influxdb_v2 scalers/influxdb/influxdb_v3 scalers/kafka scalers/kubernetes_resource
scalers/kubernetes_workload scalers/loki scalers/memory scalers/metrics_api scalers/mongodb scalers/mssql
scalers/mssql/azure_mssql_aad_azuresql scalers/mssql/azure_mssql_aad_wi scalers/mysql
scalers/nats_jetstream/nats_jetstream_cluster scalers/nats_jetstream/nats_jetstream_standalone scalers/newrelic
scalers/nsq scalers/opensearch scalers/openstack_swift scalers/postgresql/azure_postgresql_flex_server_aad_wi
scalers/postgresql/postgresql_high_available scalers/postgresql/postgresql_standalone scalers/predictkube
scalers/prometheus scalers/prometheus/prometheus_oauth scalers/pulsar/pulsar_non_partitioned_topic
scalers/pulsar/pulsar_partitioned_topic scalers/rabbitmq/rabbitmq_queue_amqp
scalers/rabbitmq/rabbitmq_queue_amqp_auth scalers/rabbitmq/rabbitmq_queue_amqp_vhost
scalers/rabbitmq/rabbitmq_queue_http scalers/rabbitmq/rabbitmq_queue_http_aad_wi
scalers/rabbitmq/rabbitmq_queue_http_auth scalers/rabbitmq/rabbitmq_queue_http_dget
scalers/rabbitmq/rabbitmq_queue_http_dpratio scalers/rabbitmq/rabbitmq_queue_http_eqct
scalers/rabbitmq/rabbitmq_queue_http_oauth2 scalers/rabbitmq/rabbitmq_queue_http_regex
scalers/rabbitmq/rabbitmq_queue_http_regex_aad_wi scalers/rabbitmq/rabbitmq_queue_http_regex_vhost
scalers/rabbitmq/rabbitmq_queue_http_vhost scalers/redis/redis_cluster_lists scalers/redis/redis_cluster_streams_lag
scalers/redis/redis_cluster_streams_length scalers/redis/redis_cluster_streams_pending_entries
scalers/redis/redis_sentinel_lists scalers/redis/redis_sentinel_streams_lag
scalers/redis/redis_sentinel_streams_length scalers/redis/redis_sentinel_streams_pending_entries
scalers/redis/redis_standalone_lists scalers/redis/redis_standalone_streams_lag
scalers/redis/redis_standalone_streams_length scalers/redis/redis_standalone_streams_pending_entries
scalers/selenium scalers/solace scalers/solace/direct-messaging scalers/solarwinds scalers/solr scalers/splunk
scalers/splunk_observability scalers/sumologic scalers/temporal secret-providers/aws_identity_assume_role
secret-providers/aws_identity_external_id secret-providers/aws_secretmanager
secret-providers/aws_secretmanager_pod_identity secret-providers/azure_keyvault
secret-providers/azure_keyvault_workload_identity secret-providers/azure_workload_identity_user_assigned
secret-providers/gcp_secret_manager secret-providers/gcp_secret_manager_workload_identity
secret-providers/hashicorp_vault secret-providers/trigger_auth_bound_service_account_token
secret-providers/trigger_auth_secret sequential/broken_scaledobject_tolerancy sequential/datadog_dca
sequential/disruption sequential/kafka_gssapi sequential/opentelemetry_metrics sequential/prometheus_metrics utils
`.trim().split(/\s+/);
